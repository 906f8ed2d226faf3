"""The page of a review: a local web server for one table and its store (extra ``usmo-learn[review]``).

    serving        the socket, the address with its token, uvicorn
    guard          what every request must satisfy before anything else sees it
    access         one-time tokens and the sessions they become
    application    addresses and the functions behind them (Starlette)
    requests       values of requests, checked
    desk           what the page does with a review; its answers are plain values
    cards          a row of the table as the page shows it
    reasons        why a row is proposed
    listing        search, filter, export
    progress       the curve of positives found and what the stopping rule says
    static, templates   the page itself: plain JavaScript modules, a style sheet, HTML

Starlette and uvicorn are chosen because they are small, typed, maintained by one group, and have three small
dependencies between them. The page has no build step and asks for nothing from elsewhere.
"""

from __future__ import annotations
