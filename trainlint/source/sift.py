"""Stand-in."""
def relevant(data):
    return any(w in data for w in (b"cross_entropy", b"CrossEntropyLoss", b"NLLLoss", b"nll_loss", b"ctc_loss", b"CTCLoss", b"ignore_index", b"Trainer("))
