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
  name?: string;
  rateLimitMax?: number | null;
  rateLimitTimeWindow?: number;
  quota?: Partial<KeyQuota>;
}

export interface NewKey {
  name?: string;
  permission?: string;
  /** None: a key for everything. */
  containerTags?: string[];
  expiresInDays?: number;
  rateLimitMax?: number;
  rateLimitTimeWindow?: number;
  quota?: Partial<KeyQuota>;
}

export interface RotatedKey extends NewKeyAnswer {
  replaces: { id: string; expiresAt: string };
}
