package lockserver.clients.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.context.event.ApplicationEventMulticaster;
import org.springframework.context.ApplicationListener;
import org.springframework.session.FindByIndexNameSessionRepository;
import org.springframework.session.Session;
import org.springframework.session.SessionRepository;
import org.springframework.session.data.redis.RedisIndexedSessionRepository;
import org.springframework.session.events.AbstractSessionEvent;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** Spring Session: sessions in hashes, an index by user, and events when they begin, end, and are deleted. */
class SessionTest {
    private static final String USER = FindByIndexNameSessionRepository.PRINCIPAL_NAME_INDEX_NAME;

    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final App APP = new App(SERVER);

    private final Set<String> events = new ConcurrentSkipListSet<>();

    @Test
    void sessionsBeginChangeAndEnd() {
        assertEquals(List.of("notify-keyspace-events", "gxE"), SERVER.call("CONFIG", "GET", "notify-keyspace-events"));
        listen();
        story(APP.bean(RedisIndexedSessionRepository.class), APP.bean(RedisIndexedSessionRepository.class));
    }

    /** An event's kind and the session that it is of. */
    private void listen() {
        ApplicationListener<AbstractSessionEvent> listener =
                event -> events.add(event.getClass().getSimpleName() + " " + event.getSessionId());
        APP.bean(ApplicationEventMulticaster.class).addApplicationListener(listener);
    }

    private <S extends Session> void story(SessionRepository<S> sessions, FindByIndexNameSessionRepository<S> index) {
        S ann = begin(sessions, "ann", Duration.ofMinutes(30));
        S found = sessions.findById(ann.getId());
        assertEquals("ann", found.getAttribute("name"));
        assertEquals(Set.of(ann.getId()), index.findByPrincipalName("ann").keySet());
        assertTrue((Long) SERVER.call("TTL", "spring:session:sessions:" + ann.getId()) > 1_800);
        found.setAttribute("cart", "3");
        found.removeAttribute("name");
        sessions.save(found);
        assertEquals(Set.of("cart", USER), sessions.findById(ann.getId()).getAttributeNames());
        String old = ann.getId();
        String changed = found.changeSessionId();
        sessions.save(found);
        assertNull(sessions.findById(old));
        assertEquals("3", sessions.findById(changed).getAttribute("cart"));

        S ben = begin(sessions, "ben", Duration.ofSeconds(1));
        Await.until("begun", () -> events.contains("SessionCreatedEvent " + ben.getId()));
        Await.until("its end is told", () -> {
            SERVER.call("EXISTS", "spring:session:sessions:expires:" + ben.getId()); // so that the server notices in time
            return events.contains("SessionExpiredEvent " + ben.getId());
        });
        assertNull(sessions.findById(ben.getId()));
        sessions.deleteById(changed);
        assertNull(sessions.findById(changed));
        assertTrue(index.findByPrincipalName("ann").isEmpty());
        Await.until("so is a deletion", () -> events.contains("SessionDeletedEvent " + changed));

        Crowd.of(6, n -> {
            for (int i = 0; i < 10; i++) {
                S one = begin(sessions, "user-" + n, Duration.ofMinutes(1));
                assertEquals("user-" + n, sessions.findById(one.getId()).getAttribute("name"));
            }
            assertEquals(10, index.findByPrincipalName("user-" + n).size());
        });
    }

    private static <S extends Session> S begin(SessionRepository<S> sessions, String name, Duration unused) {
        S session = sessions.createSession();
        session.setMaxInactiveInterval(unused);
        session.setAttribute("name", name);
        session.setAttribute(USER, name);
        sessions.save(session);
        return session;
    }
}
