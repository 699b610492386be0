import { PlainFailureConverter } from './plain-failure-converter.ts';

/**
 * Puts messages of failures into payloads, which a codec encrypts. Part of the bundle of the workflows, so it
 * imports nothing of Node.
 */
class EncodedFailureConverter extends PlainFailureConverter {
  constructor() {
    super({ encodeCommonAttributes: true });
  }
}

/** Temporal looks for this name. */
export const failureConverter = new EncodedFailureConverter();
