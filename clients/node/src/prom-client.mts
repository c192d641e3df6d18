export * from './prom-client.js';
