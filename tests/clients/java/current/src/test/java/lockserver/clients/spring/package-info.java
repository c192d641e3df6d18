/** Spring Data Redis on Lettuce against the server, and a shop that uses it for everything that such shops do. */
package lockserver.clients.spring;
