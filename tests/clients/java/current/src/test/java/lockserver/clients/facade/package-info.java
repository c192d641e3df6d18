/** Clients that expect a cluster, or Sentinels, against one server in test mode that looks like it. */
package lockserver.clients.facade;
