/** A warning about a runtime that is slower than it has to be; null for the others. */
export function slownessOf(runtime: string): string | null {
  if (runtime !== 'onnxruntime-web') return null;
  return 'It computes in WebAssembly, about five times slower than native code. `memoryd models verify` says why: there is no native library for this platform, or it cannot be unpacked or loaded.';
}
