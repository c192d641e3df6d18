package io.lockserver.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import javax.sql.DataSource;

import org.hibernate.Session;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

import io.lockserver.client.Entry;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.Worker;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;
import io.lockserver.tests.Database;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.PersistenceContext;
import jakarta.persistence.Table;

/** Fences on the connection of Spring's transaction, in H2, and in the databases that FENCE_DATABASES names, which the test starts. */
@LockserverTest
class TransactionFenceTest {
    /** A row. */
    @Entity
    @Table(name = "account")
    static class Account {
        @Id
        long id;
        long balance;
        @Column(updatable = false)
        long fence;
    }

    /** A way to raise the fence of a row. */
    interface Way {
        void raise(Bank bank, HeldLock lock) throws Exception;
    }

    static final Map<String, Way> WAYS = new LinkedHashMap<>();

    static {
        WAYS.put("TransactionFence", (bank, lock) -> TransactionFence.raise(bank.source, lock, "account", 1L));
        WAYS.put("DataSourceUtils", (bank, lock) -> {
            Connection connection = DataSourceUtils.getConnection(bank.source);
            try {
                lock.fence(connection, "account", 1L);
            } finally {
                DataSourceUtils.releaseConnection(connection, bank.source);
            }
        });
        WAYS.put("JdbcTemplate", (bank, lock) -> new JdbcTemplate(bank.source).execute((ConnectionCallback<Void>) connection -> {
            lock.fence(connection, "account", 1L);
            return null;
        }));
        WAYS.put("EntityManager", (bank, lock) -> bank.entities.unwrap(Session.class).doWork(connection -> lock.fence(connection, "account", 1L)));
    }

    /** What has transactions. */
    static class Bank {
        final DataSource source;
        @PersistenceContext
        EntityManager entities;

        Bank(DataSource source) {
            this.source = source;
        }

        /** Reads and writes behind the fence; fails: throws at the end. */
        @Locked(key = "'account:1'")
        @Transactional
        public void pay(Way way, boolean fails) throws Exception {
            HeldLock lock = CurrentLock.get();
            way.raise(this, lock);
            assertEquals(lock.token(), ((Number) entities.createNativeQuery("SELECT fence FROM account WHERE id = 1").getSingleResult()).longValue(),
                    "it is the transaction's connection");
            Account account = entities.find(Account.class, 1L);
            account.balance -= 10;
            entities.flush();
            if (fails) {
                throw new IllegalStateException("rolled back");
            }
        }

        @Transactional
        public boolean apply(Entry entry, boolean fails) {
            boolean first = TransactionFence.once(source, entry);
            if (fails) {
                throw new IllegalStateException("rolled back");
            }
            return first;
        }

        @Transactional
        public void raise(Way way, HeldLock lock) throws Exception {
            way.raise(this, lock);
        }
    }

    /** An application with JPA. */
    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement
    static class App {
        @Bean
        LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource source) {
            LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
            factory.setDataSource(source);
            factory.setPackagesToScan("io.lockserver.spring");
            factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
            return factory;
        }

        @Bean
        PlatformTransactionManager transactionManager(EntityManagerFactory factory) {
            return new JpaTransactionManager(factory);
        }

        @Bean
        Bank bank(DataSource source) {
            return new Bank(source);
        }

        @Bean
        static LockedPostProcessor locked(org.springframework.beans.factory.ObjectProvider<LockClient> client) {
            return new LockedPostProcessor(client::getObject);
        }
    }

    @Test
    void inH2(LockClient locks, TestServer server) throws Exception {
        fences("jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1", locks, server);
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "FENCE_DATABASES", matches = ".*mariadb.*")
    void inMariaDB(LockClient locks, TestServer server) throws Exception {
        try (Database database = Database.mariadb()) {
            database.connect().close();
            fences(database.url(), locks, server);
        }
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "FENCE_DATABASES", matches = ".*postgres.*")
    void inPostgreSQL(LockClient locks, TestServer server) throws Exception {
        try (Database database = Database.postgres()) {
            database.connect().close();
            fences(database.url(), locks, server);
        }
    }

    private static void fences(String url, LockClient locks, TestServer server) throws Exception {
        DriverManagerDataSource source = new DriverManagerDataSource(url);
        JdbcTemplate sql = new JdbcTemplate(source);
        sql.execute("CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT NOT NULL)");
        sql.execute("CREATE TABLE lockserver_entries (stream VARCHAR(255) NOT NULL, worker VARCHAR(255) NOT NULL, entry VARCHAR(64) NOT NULL, "
                + "PRIMARY KEY (stream, worker, entry))");
        sql.execute("INSERT INTO account VALUES (1, 100, 0)");
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.registerBean(DataSource.class, () -> source);
            context.registerBean(LockClient.class, () -> locks, definition -> definition.setDestroyMethodName(null));
            context.register(App.class);
            context.refresh();
            Bank bank = context.getBean(Bank.class);
            long balance = 100;
            for (Map.Entry<String, Way> each : WAYS.entrySet()) {
                Way way = each.getValue();
                bank.pay(way, false);
                balance -= 10;
                List<Long> row = row(sql);
                assertEquals(balance, row.get(0), each.getKey());
                assertEquals("rolled back", assertThrows(IllegalStateException.class, () -> bank.pay(way, true)).getMessage());
                assertEquals(row, row(sql), each.getKey() + ": the fence is rolled back with the transaction");
                HeldLock former = locks.lock("account:1");
                server.call("LOCK.FORCE", "account:1");
                HeldLock later = locks.lock("account:1");
                bank.raise(way, later);
                assertThrows(LockLostException.class, () -> bank.raise(way, former));
                assertEquals(later.token(), row(sql).get(1), each.getKey());
                later.unlock();
            }
            HeldLock lock = locks.lock("account:1");
            String refusal = assertThrows(IllegalStateException.class, () -> TransactionFence.raise(source, lock, "account", 1L)).getMessage();
            assertTrue(refusal.contains("no transaction"), refusal);
            Bank plain = new Bank(source); // no transaction around its methods
            for (String way : List.of("DataSourceUtils", "JdbcTemplate")) {
                refusal = assertThrows(IllegalStateException.class, () -> WAYS.get(way).raise(plain, lock), way).getMessage();
                assertTrue(refusal.contains("begin a transaction"), way + ": " + refusal);
            }
            lock.unlock();
            Entry entry = entry(locks, server);
            assertThrows(IllegalStateException.class, () -> bank.apply(entry, true));
            assertTrue(bank.apply(entry, false));
            assertFalse(bank.apply(entry, false));
        }
    }

    private static List<Long> row(JdbcTemplate sql) {
        return sql.queryForObject("SELECT balance, fence FROM account WHERE id = 1", (row, n) -> new ArrayList<>(List.of(row.getLong(1), row.getLong(2))));
    }

    private static Entry entry(LockClient locks, TestServer server) throws Exception {
        CompletableFuture<Entry> came = new CompletableFuture<>();
        Worker worker = locks.worker("s", "g", came::complete);
        Thread running = new Thread(worker);
        running.start();
        server.call("XADD", "s", "*", "n", "1");
        Entry entry = came.get(60, TimeUnit.SECONDS);
        worker.stop();
        running.join();
        return entry;
    }
}
