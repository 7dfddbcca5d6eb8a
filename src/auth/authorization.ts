/**
 * A connection's authorization at its source: the seam between the stored credentials
 * and whatever sends them (HTTP, SASL, a vendor's library).
 */
export interface Authorization {
  /** Headers that authorize one request; empty when the connector authorizes its requests itself. */
  headers(): Promise<Record<string, string>>;
  /**
   * The source refused a request sent with these headers (401). Answers true when another credential is
   * there now (renewed here, by another call or by another process), so that the request is worth one
   * more try. Throws `AuthExpired` when the source says that the grant is gone.
   */
  renew(refused: Record<string, string>): Promise<boolean>;
  /**
   * A valid access token, renewed shortly before it expires, or the API key. With one that the source
   * refused: another one, else `AuthExpired`. Throws `BadConfig` when there is none by design.
   */
  token(refused?: string): Promise<string>;
  /** A stored secret field of the connection's authorization or configuration. */
  secret(name: string): Promise<string>;
}
