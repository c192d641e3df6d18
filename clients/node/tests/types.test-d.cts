// The types of the CommonJS form.

import lockserver = require('lockserver');
import redlock = require('lockserver/redlock');

export const locks = new lockserver.Locks('redis://127.0.0.1');
export const other = new redlock.default([]);
