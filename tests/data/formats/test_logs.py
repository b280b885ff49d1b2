from karat.data.formats.logs import inspect_rows


def test_targets_of_inspect_have_no_whitespace_at_their_ends():
    samples = [{"id": at, "target": target} for at, target in enumerate((" Paris", ["a ", "\tb"], None))]
    rows = list(inspect_rows({"eval": {}, "samples": samples}))
    assert [row["reference"] for row in rows] == ["Paris", ["a", "b"], None]
    assert '"target": " Paris"' in rows[0]["sample"]
