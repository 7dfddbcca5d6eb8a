-- Failed attempts to find the memories of a document that is done, and when the next one may be made.
alter table documents add column dream_attempts integer not null default 0;
alter table documents add column dream_at timestamptz;
create index documents_dreaming on documents (container_tag, updated_at) where dreaming_status = 'dreaming';

-- Distinguishes what was found in documents from what callers wrote; null: written by a caller.
alter table memories add column extractor text;
-- The one answer to what slot asks of subject.
alter table memories add column slot_value text;
create index memories_by_subject on memories (container_tag, subject) where is_latest and not is_forgotten;
create index memories_by_hash on memories (container_tag, content_hash) where is_latest;
create index memories_to_forget on memories (forget_after) where not is_forgotten and forget_after is not null;
