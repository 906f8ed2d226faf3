"""The lowest room: files, memory, warnings, optional packages and compilation. It knows nothing of PU learning."""
