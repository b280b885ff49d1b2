"""Values that a judge gives for all rows, corrected by people's labels of some: prediction-powered inference.

Open `estimate` first: `corrected_mean` and `corrected_difference` turn `judged` rows into a corrected `value`. Behind
them, `influence` says how much each row moves the value, and `interval` how far chance moves it. `cross_prediction`
fits what turns a score into a verdict without using a row's own label; `allocation` says which rows to label next,
and `label_count` how many. `rogan_gladen` corrects a share by a judge's error rates on other answers.
"""
