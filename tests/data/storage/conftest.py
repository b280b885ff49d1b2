"""Files over http, behind a server that fails when it should."""

import pytest


@pytest.fixture
def web(faulty_server):
    """A server of the files in `web.files`, by name; with `web.ranged = False` it ignores ranges."""

    def answer(_method, path, headers, _body):
        name = path.partition("?")[0].strip("/")
        if name not in server.files:
            return 404, {}, b""
        content, wanted = server.files[name], headers.get("Range") if server.ranged else None
        about = {"ETag": f'"{hash(content)}"'}
        if wanted is None:
            return 200, about, content
        first, last = map(int, wanted.removeprefix("bytes=").split("-"))
        if first >= len(content):
            return 416, {"Content-Range": f"bytes */{len(content)}"}, b""
        last = min(last, len(content) - 1)
        return 206, about | {"Content-Range": f"bytes {first}-{last}/{len(content)}"}, content[first : last + 1]

    server = faulty_server(answer)
    server.files, server.ranged = {}, True
    yield server
    server.stop()
