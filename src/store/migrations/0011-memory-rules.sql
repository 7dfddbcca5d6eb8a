-- breaking
-- Who says what, which sources make memories, and what stays forgotten.

-- Turns of a text that several people wrote, by their place in what was sent:
-- [{"start", "end", "author", "own", "date"}]. Null: it is one text.
alter table document_contents add column turns jsonb;
-- Every line of the text is somebody's: a chat, a transcript.
alter table documents add column is_transcript boolean not null default false;
-- When the text says that it was written, where the time of its file means nothing: of a mail.
alter table documents add column written_at timestamptz;

-- caller: forgotten on request. source: what it was found in is gone or says something else. time: it expired.
alter table memories add column forgotten_by text check (forgotten_by in ('caller', 'source', 'time'));
update memories set forgotten_by = case forget_reason when 'source changed' then 'source' when 'expired' then 'time'
    when 'the document has no memories any more' then 'source' else 'caller' end
  where is_forgotten;
-- Equal for statements with the same words, in whatever order and form.
alter table memories add column words_hash text;
create index memories_by_words on memories (container_tag, words_hash) where is_latest;
create index memories_by_slot on memories (container_tag, subject, slot) where is_latest and slot is not null;
drop index memories_by_subject;
create index memories_by_subject on memories (container_tag, subject, created_at) where is_latest and not is_forgotten;

-- Hashes of statements that somebody forgot. They outlive the memory, so that no source brings it back.
create table forgotten_statements (
  container_tag text collate "C" not null,
  hash text collate "C" not null,
  forgotten_at timestamptz not null,
  primary key (container_tag, hash)
);
insert into forgotten_statements
  select container_tag, content_hash, max(coalesce(forgotten_at, updated_at)) from memories
  where forgotten_by = 'caller' group by container_tag, content_hash;

-- Settings that changed, until every document below them was looked at again. `position`: the last one that was.
create table memory_setting_changes (
  scope text not null check (scope in ('connection', 'container', 'everything')),
  id text collate "C" not null,
  position text collate "C" not null default '',
  primary key (scope, id)
);
insert into memory_setting_changes (scope, id) values ('everything', '');

-- A document that waits for its memories: since when, or until when it was put off.
update documents set dream_at = updated_at where dreaming_status = 'dreaming' and dream_at is null;
drop index documents_dreaming;
create index documents_dreaming on documents (dream_at, id)
  where dreaming_status = 'dreaming' and status = 'done' and deleted_at is null;
create index documents_dreaming_by_container on documents (container_tag, (coalesce(written_at, document_date, created_at)), id)
  where dreaming_status = 'dreaming' and status = 'done' and deleted_at is null;
