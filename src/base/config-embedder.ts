import Type from 'typebox';

/** Settings of the model that turns text into vectors. */
export const embedder = Type.Object({
  kind: Type.Enum(['chosen', 'minilm', 'onnx', 'http', 'hashing'], {
    description:
      'Model that turns text into vectors: chosen (by `memoryd models use`; the built-in one until then), minilm (the built-in one), onnx (a folder), http (an OpenAI-compatible server), hashing (no model, for tests).',
    default: 'chosen',
  }),
  hub: Type.String({
    description:
      'Where `memoryd models pull` gets models: an address with the paths of the Hugging Face hub, `/<repository>/resolve/<revision>/<file>`.',
    default: 'https://huggingface.co',
    pattern: '^https?://[^\\s/?#]+[^\\s?#]*$',
    expected: 'an address such as https://huggingface.co or http://hub.lan:8080/models',
    aliases: ['HF_ENDPOINT'],
  }),
  folder: Type.Optional(
    Type.String({
      description: 'Folder of the model, for onnx.',
      absent: 'needed when the kind is onnx',
      minLength: 1,
      path: true,
    }),
  ),
  baseUrl: Type.Optional(
    Type.String({
      description: 'Address of the server, for http.',
      absent: 'needed when the kind is http',
      pattern: '^https?://.+',
      expected: 'an address such as http://127.0.0.1:11434/v1',
    }),
  ),
  model: Type.Optional(
    Type.String({
      description: 'Name of the model at the server, for http.',
      absent: 'needed when the kind is http',
      minLength: 1,
    }),
  ),
  apiKey: Type.Optional(
    Type.String({
      description: 'Key for the server, for http.',
      absent: 'none is sent',
      minLength: 1,
      secret: true,
    }),
  ),
  dimensions: Type.Optional(
    Type.Integer({
      description: 'Length of the vectors, for http and hashing.',
      absent: 'what the model gives',
      minimum: 1,
      maximum: 8192,
    }),
  ),
});
