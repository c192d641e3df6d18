// node main.mjs redis://127.0.0.1:6379

import { startShop } from './shop.mjs';

const shop = await startShop({
  url: process.argv[2] ?? 'redis://127.0.0.1:6379',
  book: (entry) => console.log('order', entry.fields.id, 'of', entry.fields.userId),
});
console.log('the shop is at', shop.url);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => shop.close());
