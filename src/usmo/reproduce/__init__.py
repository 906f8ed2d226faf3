"""The paper's experiments again, next to the published numbers."""
