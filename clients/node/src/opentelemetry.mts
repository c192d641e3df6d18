export * from './opentelemetry.js';
