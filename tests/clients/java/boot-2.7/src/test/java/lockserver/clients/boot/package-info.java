/** An application of Spring Boot 2.7 against the server, configured as such applications are. */
package lockserver.clients.boot;
