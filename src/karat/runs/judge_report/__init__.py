"""A judge examined: asked again, reworded, in both orders, and compared with people. Open `judge_report` first.

`votes` asks the judge about each row several times, `rewordings` has the prompts in other words, `labelled_rows` joins
labels by people, `examined` holds the rows, `figures` computes what `karat.stats.reliability` defines, `findings` says
it in words, and `kept_calibration` stores how a judge's scores compare with people's.
"""
