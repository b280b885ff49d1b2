"""The report: one HTML file that needs nothing else and can be sent by mail. `report.py` comes first: `karat.report`.

It is the page of `karat view` with its data in the file: `content` has what the page would be answered, from the same
figures, `rows` the rows that `chosen_rows` picked, `values` each system's values, and `redaction` leaves out what is
not to be shared. `document` writes the verdict and the first table as plain HTML, with a content security policy, and
`bundle` makes one script of the page's modules, in which `answers.js` takes the place of the server.
"""
