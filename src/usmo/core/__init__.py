"""The problem, its optimality conditions and its certificate, and plain data: no kernel, no solver."""
