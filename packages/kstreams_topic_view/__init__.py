"""Views of topics: read a compacted topic as a table, without an app.

Read `topic_view.py` first, then `topic_reader.py`, which follows the topic. `topic_home.py` keeps
the copy of the table between runs. Import `TopicView` from `kstreams.views`.
"""
