export interface NewKeyAnswer {
  id: string;
  name: string;
  /** Shown this once. */
  key: string;
  permission: string;
  expiresAt?: string | null;
}

export interface KeyAnswer {
  id: string;
  name: string;
  /** The first characters. */
  start: string;
  permission: string;
  /** None: a full key. */
  containerTags: string[];
  enabled: boolean;
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
  rateLimitMax: number | null;
  rateLimitTimeWindow: number | null;
  quota: KeyQuota;
  usage: { documents: number; bytes: number } | null;
}

export interface KeyQuota {
  documents: number | null;
  bytes: number | null;
}

export interface KeyChange {
  name?: string | undefined;
  rateLimitMax?: number | null | undefined;
  rateLimitTimeWindow?: number | undefined;
  quota?: Partial<KeyQuota> | undefined;
}

export interface NewKey {
  name?: string | undefined;
  permission?: string | undefined;
  /** None: a key for everything. */
  containerTags?: string[] | undefined;
  expiresInDays?: number | undefined;
  rateLimitMax?: number | undefined;
  rateLimitTimeWindow?: number | undefined;
  quota?: Partial<KeyQuota> | undefined;
}

export interface RotatedKey extends NewKeyAnswer {
  replaces: { id: string; expiresAt: string };
}
