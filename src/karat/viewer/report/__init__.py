"""The report: one HTML file that needs nothing else and can be sent by mail. `report.py` comes first: `karat.report`.

`choice` picks the rows that the file holds, `rows` reads and marks their texts, `sections` writes what is read before
and after them, `redaction` leaves out what is not to be shared, and `document` makes one page with a content security
policy of it all. `report.js` sorts and filters the rows; everything else is there without it.
"""
