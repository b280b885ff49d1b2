"""The local page over run folders (`karat view`): its server, and in `static` what the browser runs.

`server.py` binds a port of this machine and serves until it is interrupted; open it first. `guard.py` refuses requests
that are not of this page. `app.py` has the addresses; `query.py` checks what is asked for; what they answer is in
`figures.py` (values, comparisons), `listing.py` (rows), `labelling.py` and `people.py` (labels by people), over what
`workspace.py` keeps open.
"""
