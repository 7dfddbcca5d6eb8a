-- The console lists documents by their last change; without an index each page sorts all of them.
create index documents_by_update on documents (updated_at, id) where deleted_at is null;
