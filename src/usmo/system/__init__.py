"""The lowest layer: files, memory, warnings, optional packages and compilation. It knows nothing of PU learning."""
