"""Records that anybody can write stop no app and are not lost."""
