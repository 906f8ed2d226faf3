"""Reviews simulated against other ways to rank, stopping rules, latency and kills; see ``__main__``."""
