-- Full-text search in SQLite: one row for each note (tab_id '') and each tab. The
-- words come from workspace.Words, so the tokenizer only has to cut at spaces.
-- Their text is not stored a second time; search_documents knows the rows.

-- +goose Up

CREATE TABLE search_documents (
    document INTEGER PRIMARY KEY, -- rowid of search_words
    note_id  TEXT NOT NULL,
    tab_id   TEXT NOT NULL,
    UNIQUE (note_id, tab_id)
);

CREATE VIRTUAL TABLE search_words USING fts5 (
    place, title, heading, body,
    content = '', contentless_delete = 1, tokenize = 'ascii'
);

-- +goose Down
-- Migrations go forward only.
SELECT 1;
