/** A warning about a runtime that is slower than it has to be; null for the others. */
export function slownessOf(runtime: string): string | null {
  if (runtime !== 'onnxruntime-web') return null;
  return 'It computes in WebAssembly, about five times slower than native code: onnxruntime-node is not installed or does not load. `npm install --ignore-scripts onnxruntime-node`, where memoryd is installed, adds it.';
}
