import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';

/** The part of OpenTelemetry's protocol (opentelemetry-proto, trace/v1) that has spans. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message AnyValue {
    oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; }
  }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
  message Status { string message = 2; int32 code = 3; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
  }
  message ScopeSpans { repeated Span spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Request { repeated ResourceSpans resource_spans = 1; }
`);

export interface ReceivedSpan {
  service: string;
  traceId: string;
  spanId: string;
  /** Empty for the first span of a trace. */
  parentId: string;
  name: string;
  seconds: number;
  attributes: Record<string, string | number>;
  /** Every text in it that is no name: messages of errors. */
  texts: string[];
  failed: boolean;
}

interface Attribute {
  key: string;
  value: Record<string, string | number>;
}
interface RawSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  events: { name: string; attributes: Attribute[] }[];
  status?: { message: string; code: number };
}

/** Receives spans as an OpenTelemetry collector does: OTLP over HTTP. */
export class OtlpReceiver implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = [];
  readonly #server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const isJson = request.headers['content-type'] === 'application/json';
      this.#receive(Buffer.concat(parts), isJson);
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Those of the trace, whose names begin so. */
  named(prefix: string, traceId?: string): ReceivedSpan[] {
    return this.spans.filter(
      (span) => span.name.startsWith(prefix) && (traceId === undefined || span.traceId === traceId),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #receive(body: Buffer, isJson: boolean): void {
    const type = root.lookupType('Request');
    const decoded = isJson
      ? type.fromObject(fromJson(JSON.parse(body.toString()) as object))
      : type.decode(body);
    const { resourceSpans } = type.toObject(decoded, { longs: String, bytes: String, defaults: true }) as {
      resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: RawSpan[] }[] }[];
    };
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = String(attributesOf(resource.attributes)['service.name']);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) this.spans.push(readSpan(service, span));
    }
  }
}

/** In JSON, ids are hexadecimal; everywhere else in protobuf's JSON, bytes are base64. */
const fromJson = (request: object): object =>
  JSON.parse(
    JSON.stringify(request, (key, value: unknown) =>
      /^(trace|span|parentSpan)Id$/.test(key) ? Buffer.from(String(value), 'hex').toString('base64') : value,
    ),
  ) as object;

function readSpan(service: string, span: RawSpan): ReceivedSpan {
  const hex = (base64: string): string => Buffer.from(base64, 'base64').toString('hex');
  const eventTexts = span.events.flatMap(({ attributes }) =>
    Object.values(attributesOf(attributes)).map(String),
  );
  return {
    service,
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentId: hex(span.parentSpanId),
    name: span.name,
    seconds: (Number(span.endTimeUnixNano) - Number(span.startTimeUnixNano)) / 1e9,
    attributes: attributesOf(span.attributes),
    texts: [...eventTexts, span.status?.message ?? ''].filter((text) => text !== ''),
    failed: span.status?.code === 2,
  };
}

const attributesOf = (attributes: readonly Attribute[]): Record<string, string | number> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, intValue, doubleValue } = value;
      if (stringValue !== undefined) return [key, stringValue];
      return [key, Number(intValue ?? doubleValue)];
    }),
  );
