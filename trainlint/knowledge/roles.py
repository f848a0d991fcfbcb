from trainlint.value import Role
def roles(name):
    n=name.lower(); f=set()
    if any(w in n for w in ("eos","stop","</s>","endof")): f.add(Role.END)
    if "pad" in n: f.add(Role.PAD)
    if "sos" in n or "bos" in n: f.add(Role.START)
    return frozenset(f)
