"""What people look at: the page over run folders, and the report, which is the page with its data in one file.

`page/static` is what the browser runs for both, and `style.css` its design; open `page/static/main.js` first. `page`
serves run folders on this machine, `report` writes one self-contained file, `rows` reads aligned rows, and `answers`
has comparisons and rankings as both are answered. What a figure is (values, intervals, differences) is in
`karat.stats` and `karat.runs`; nothing here computes one.
"""
