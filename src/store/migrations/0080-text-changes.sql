-- Which texts have changed, for those who hold some in memory. A change counts from the commit of its transaction on,
-- which the id of the transaction tells; rows are forgotten after some hours.
create table text_changes (
  transaction_id xid8 not null default pg_current_xact_id(),
  document_id text collate "C",
  memory_id text collate "C",
  noted_at timestamptz not null default now()
);
create index text_changes_by_transaction on text_changes (transaction_id);

create function note_chunks() returns trigger language plpgsql as $$
begin
  insert into text_changes (document_id) select distinct document_id from changed;
  return null;
end $$;
create trigger chunks_inserted after insert on chunks
  referencing new table as changed for each statement execute function note_chunks();
create trigger chunks_updated after update on chunks
  referencing new table as changed for each statement execute function note_chunks();
create trigger chunks_deleted after delete on chunks
  referencing old table as changed for each statement execute function note_chunks();

create function note_memories() returns trigger language plpgsql as $$
begin
  insert into text_changes (memory_id) select distinct id from changed;
  return null;
end $$;
create trigger memories_inserted after insert on memories
  referencing new table as changed for each statement execute function note_memories();
create trigger memories_updated after update on memories
  referencing new table as changed for each statement execute function note_memories();
create trigger memories_deleted after delete on memories
  referencing old table as changed for each statement execute function note_memories();

create function note_memory_sources() returns trigger language plpgsql as $$
begin
  insert into text_changes (document_id, memory_id) select document_id, memory_id from changed;
  return null;
end $$;
create trigger memory_sources_inserted after insert on memory_sources
  referencing new table as changed for each statement execute function note_memory_sources();
create trigger memory_sources_updated after update on memory_sources
  referencing new table as changed for each statement execute function note_memory_sources();
create trigger memory_sources_deleted after delete on memory_sources
  referencing old table as changed for each statement execute function note_memory_sources();

create function note_document() returns trigger language plpgsql as $$
begin
  insert into text_changes (document_id) values (new.id);
  return null;
end $$;
create trigger documents_updated after update on documents for each row
  when ((old.deleted_at, old.container_tag, old.document_date, old.written_at, old.chunk_starts, old.chunk_ends)
    is distinct from (new.deleted_at, new.container_tag, new.document_date, new.written_at, new.chunk_starts, new.chunk_ends))
  execute function note_document();
