/** Callers that give up before the server answers, and calls that the documentation warns of (docs/CLIENTS.md). */
package lockserver.clients.impatient;
