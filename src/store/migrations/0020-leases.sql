-- What a transaction of a role's holder proves with that the role is still its own.
alter table leases add column token text not null default '';
