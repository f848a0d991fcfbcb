def write(study, size, records, command, out):
    return ""
