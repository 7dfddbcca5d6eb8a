-- Where the chunks of a document's text start and end, by position, so that a memory's stretch of the
-- text leads to the chunks that hold it. Null: cut before this was kept.
alter table documents add column chunk_starts integer[];
alter table documents add column chunk_ends integer[];
