-- Full-text search in PostgreSQL: one row for each note (tab_id '') and each tab.
-- The words come from workspace.Words, so no text search configuration is used.

-- +goose Up

CREATE TABLE search_documents (
    note_id TEXT NOT NULL,
    tab_id  TEXT NOT NULL,
    words   TSVECTOR NOT NULL, -- weights: A title, B heading, D body; places without position
    PRIMARY KEY (note_id, tab_id)
);
CREATE INDEX search_documents_words ON search_documents USING gin (words) WITH (fastupdate = off);

-- +goose Down
-- Migrations go forward only.
SELECT 1;
