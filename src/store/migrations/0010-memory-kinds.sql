-- breaking
-- Facts and episodes, who said them, and what a memory knew at a given time.

-- What a statement is about: fact, preference, event, plan; null: unknown.
alter table memories rename column kind to category;
-- Facts have versions and make the profile; episodes are what somebody said, and when.
alter table memories add column kind text not null default 'fact' check (kind in ('fact', 'episode'));
-- Whoever said it, as written in the source; null: nobody is named.
alter table memories add column author text;
-- told: said to memory by a user or an application. own: written by the owner. read: everything else that is mirrored.
alter table memories add column trust text not null default 'told' check (trust in ('told', 'own', 'read'));
alter table memories add column said_at timestamptz;
alter table memories add column superseded_at timestamptz;
alter table memories add column forgotten_at timestamptz;
update memories set superseded_at = updated_at where not is_latest;
update memories set forgotten_at = updated_at where is_forgotten;

-- Who "I" is in the text; null: nobody.
alter table documents add column author text;
alter table documents add column trust text not null default 'told' check (trust in ('told', 'own', 'read'));
update documents set trust = 'read' where connection_id is not null
  or id in (select document_id from document_contents where kind in ('file', 'url'));
update memories m set trust = 'read' where m.extractor is not null and not exists (
  select 1 from memory_sources s join documents d on d.id = s.document_id where s.memory_id = m.id and d.trust <> 'read')
  and exists (select 1 from memory_sources s where s.memory_id = m.id);

-- What becomes a memory; null: the container's setting, then the default of the kind of source.
alter table connections add column memories text check (memories in ('off', 'facts', 'facts+episodes'));
alter table connections add column trust text not null default 'read' check (trust in ('own', 'read'));
alter table connections add column author text;
-- Whether what is read there may enter profiles.
alter table connections add column in_profile boolean not null default false;
alter table container_tags add column memories text check (memories in ('off', 'facts', 'facts+episodes'));
