"""The client of `kstreams serve`: views of an app's stores over HTTP.

`remote_view.py` is the view, `remote_reader.py` reads stores with the requests of
`server_client.py`, `wire.py` encodes rows for server and client. Import `RemoteView` from
`kstreams.views`.
"""
