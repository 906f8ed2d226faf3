"""Reviews: python -m benchmarks.review COMMAND [--seeds 20] [--first 6] [--orders out/review]   (USMO_DATA set)

text       work saved at 95 % recall and mean time to discovery on three collections of abstracts, against a linear
           SVM on the reviewed documents, and random order
tables     the same on six tables with a rare class, against PU bagging of trees and random order
risk       the ranking of the rows not yet reviewed by the review's risk, by simpler risks, and by a fit that knows all
           labels
stopping   all stopping rules on the orders that ``text`` and ``tables`` left in --orders
latency    from a decision to the next candidate while a fit runs, and the time of a fit
kills      a writing process is killed 200 times: decisions that were confirmed are in the store, each once
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from benchmarks.review import kills, latency, ranking, risk, stopping

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["text", "tables", "risk", "stopping", "latency", "kills"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=6, help="first seed; settings were chosen with seeds 0 to 5")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--reviews", type=int, default=500, help="stopping: reviews at least")
    parser.add_argument("--orders", type=Path, default=Path("out/review"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.first, options.first + options.seeds)
    if options.command in ("text", "tables"):
        ranking.run(options.command, seeds, options.jobs, options.orders)
    elif options.command == "risk":
        risk.run(seeds, options.jobs)
    elif options.command == "stopping":
        stopping.run(seeds, options.orders, options.reviews, options.jobs)
    elif options.command == "latency":
        latency.run()
    else:
        kills.run(options.kills)
