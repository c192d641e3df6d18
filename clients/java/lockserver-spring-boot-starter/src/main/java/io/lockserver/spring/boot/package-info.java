/** Makes a client and what belongs to it from properties, in Spring Boot 3 and 4. See LockserverProperties for the properties. */
package io.lockserver.spring.boot;
