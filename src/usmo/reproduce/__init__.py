"""The paper's experiments, recomputed and set beside the published numbers (``usmo reproduce``).

They need the paper's data sets (``USMO_DATA``) and the extra ``usmo-learn[reproduce]``: a QP library, matplotlib and
Jinja2. These are optional, so they are imported inside the functions that use them.
"""
