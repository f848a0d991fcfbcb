"""What a run shows and source cannot; the only package that may load torch."""
