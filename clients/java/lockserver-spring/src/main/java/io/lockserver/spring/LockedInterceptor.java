package io.lockserver.spring;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.BaseStream;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.reactivestreams.Publisher;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.Expression;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.OpPlus;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.format.annotation.DurationFormat;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.scheduling.annotation.Async;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockException;
import io.lockserver.client.LockOptions;
import reactor.core.publisher.Flux;

/** Takes the lock of a {@link Locked} method around its call. */
final class LockedInterceptor implements MethodInterceptor {
    private final Supplier<LockClient> client;
    private final ConfigurableBeanFactory beans;
    private final SpelExpressionParser parser = new SpelExpressionParser();
    private final DefaultParameterNameDiscoverer names = new DefaultParameterNameDiscoverer();
    /** How long a method waits that does not say it. */
    private static final Duration WAIT = Duration.ofSeconds(30);

    private final Map<Method, Plan> plans = new ConcurrentHashMap<>();

    /**
     * How a method is locked.
     *
     * @param added the variables that the key adds to a text, where null would become the text "null"
     * @param completes the method returns a CompletionStage
     * @param reactive how the type that the method returns is subscribed to; null: it is no such type
     */
    private record Plan(Expression key, List<String> added, LockOptions options, boolean completes, ReactiveAdapter reactive) {
    }

    LockedInterceptor(Supplier<LockClient> client, ConfigurableBeanFactory beans) {
        this.client = client;
        this.beans = beans;
    }

    @Override
    public Object invoke(MethodInvocation call) throws Throwable {
        Class<?> type = call.getThis() == null ? call.getMethod().getDeclaringClass() : AopUtils.getTargetClass(call.getThis());
        Method method = AopUtils.getMostSpecificMethod(call.getMethod(), type);
        Plan plan = plan(method);
        String key = key(plan, call, method);
        if (plan.reactive != null) {
            return whileSubscribed(call, key, plan);
        }
        return plan.completes ? untilCompleted(call, key, plan.options) : inThread(call, key, plan.options);
    }

    private Object inThread(MethodInvocation call, String key, LockOptions options) throws Throwable {
        LockClient locks = client.get();
        HeldLock lock = acquire(key, () -> locks.lockByThread(key, options));
        Runnable release = () -> release(locks, lock, options.shared());
        Throwable thrown = null;
        boolean later = false;
        HeldLock before = CurrentLock.set(lock);
        try {
            if (Transactions.isActive()) {
                Transactions.releaseAfter(lock, release);
                later = true;
            }
            return call.proceed();
        } catch (Throwable e) {
            thrown = e;
            throw e;
        } finally {
            CurrentLock.set(before);
            if (!later) {
                end(release, thrown);
            }
        }
    }

    private static void release(LockClient locks, HeldLock lock, boolean shared) {
        try {
            locks.unlockByThread(lock.key(), shared);
        } catch (IllegalMonitorStateException e) { // the transaction has ended in another thread
            lock.close();
        }
    }

    /** Releases; if the method has thrown, an error of the release is added to that. */
    private static void end(Runnable release, Throwable thrown) {
        try {
            release.run();
        } catch (RuntimeException e) {
            if (thrown == null) {
                throw e;
            }
            thrown.addSuppressed(e);
        }
    }

    private Object untilCompleted(MethodInvocation call, String key, LockOptions options) throws Throwable {
        LockClient locks = client.get();
        if (Transactions.isActive()) {
            return untilCompletedAndCommitted(call, key, options, locks);
        }
        refuseOfThread(locks, key);
        HeldLock lock = acquire(key, () -> locks.lock(key, options));
        HeldLock before = CurrentLock.set(lock);
        CompletionStage<?> result;
        try {
            result = (CompletionStage<?>) call.proceed();
        } catch (Throwable e) {
            end(lock::close, e);
            throw e;
        } finally {
            CurrentLock.set(before);
        }
        if (result == null) {
            lock.close();
            return null;
        }
        return result.whenComplete((value, error) -> lock.close());
    }

    /** The lock is kept until the stage is completed and the transaction of the caller has ended. Another call in the transaction has it at once. */
    private static Object untilCompletedAndCommitted(MethodInvocation call, String key, LockOptions options, LockClient locks) throws Throwable {
        Transactions.Kept kept = Transactions.kept(key, options.shared());
        if (kept == null) {
            refuseOfThread(locks, key);
            kept = Transactions.keep(acquire(key, () -> locks.lock(key, options)), options.shared());
        }
        Transactions.Kept lock = kept;
        lock.begin();
        HeldLock before = CurrentLock.set(lock.lock());
        CompletionStage<?> result;
        try {
            result = (CompletionStage<?>) call.proceed();
        } catch (Throwable e) {
            end(lock::end, e);
            throw e;
        } finally {
            CurrentLock.set(before);
        }
        if (result == null) {
            lock.end();
            return null;
        }
        return result.whenComplete((value, error) -> {
            try {
                lock.lock().ensureHeld();
            } finally {
                lock.end();
            }
        });
    }

    private static void refuseOfThread(LockClient locks, String key) {
        if (locks.heldByThread(key).isPresent()) {
            throw new IllegalStateException("this thread holds the lock \"" + key + "\", which the call would wait for: its own owner holds it until its end");
        }
    }

    /** The method runs when the result is subscribed to, and again for each further subscription. Each has a lock of its own. */
    private Object whileSubscribed(MethodInvocation call, String key, Plan plan) {
        LockClient locks = client.get();
        Supplier<CompletableFuture<HeldLock>> acquire = () -> {
            refuseOfThread(locks, key);
            return locks.lockAsync(key, plan.options);
        };
        Function<HeldLock, Publisher<Object>> work = lock -> {
            HeldLock before = CurrentLock.set(lock);
            try {
                Object result = (call instanceof ProxyMethodInvocation proxied ? proxied.invocableClone() : call).proceed();
                return result == null ? Flux.empty() : plan.reactive.toPublisher(result);
            } catch (Throwable e) {
                return Flux.error(e);
            } finally {
                CurrentLock.set(before);
            }
        };
        Flux<Object> alone = ReactiveLocks.held(List.of(key), acquire, work);
        Flux<Object> locked = Transactions.isPresent() ? ReactiveTransactions.held(key, plan.options.shared(), acquire, work, alone) : alone;
        return plan.reactive.fromPublisher(plan.reactive.isMultiValue() ? locked : locked.singleOrEmpty());
    }

    /** Takes a lock. */
    private interface Acquisition {
        HeldLock acquire() throws InterruptedException;
    }

    private static HeldLock acquire(String key, Acquisition acquisition) {
        try {
            return acquisition.acquire();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockException("interrupted while waiting for the lock \"" + key + "\"", e);
        }
    }

    /** How a method is locked. It throws IllegalStateException for a method that a lock would not protect. */
    Plan plan(Method method) {
        return plans.computeIfAbsent(method, this::made);
    }

    private Plan made(Method method) {
        Locked locked = AnnotatedElementUtils.findMergedAnnotation(method, Locked.class);
        boolean completes = CompletionStage.class.isAssignableFrom(method.getReturnType());
        ReactiveAdapter reactive = completes ? null : ReactiveAdapterRegistry.getSharedInstance().getAdapter(method.getReturnType());
        refuse(method, completes || reactive != null);
        LockOptions options = LockOptions.defaults().withWait(locked.waitFor().isEmpty() ? WAIT : duration(locked.waitFor()))
                .withPriority(locked.priority());
        if (!locked.lease().isEmpty()) {
            options = options.withLease(duration(locked.lease()));
        }
        SpelExpression key = parser.parseRaw(locked.key());
        List<String> added = new ArrayList<>();
        look(key.getAST(), method, false, added);
        return new Plan(key, added, locked.shared() ? options.asShared() : options, completes, reactive);
    }

    /** Refuses a method with work that goes on after the call, unless its end is known. */
    private static void refuse(Method method, boolean isEndKnown) {
        boolean async = false;
        for (AnnotatedElement element : List.of(method, method.getDeclaringClass())) {
            async |= AnnotatedElementUtils.hasAnnotation(element, Async.class);
        }
        if (async) {
            throw new IllegalStateException("@Locked at " + method + " would end before its work, which is @Async: lock a method that it calls");
        }
        Class<?> type = method.getReturnType();
        boolean suspends = Arrays.stream(method.getParameterTypes()).anyMatch(each -> each.getName().equals("kotlin.coroutines.Continuation"));
        if (suspends || !isEndKnown && (Future.class.isAssignableFrom(type) || BaseStream.class.isAssignableFrom(type) || Iterator.class.isAssignableFrom(type) || Callable.class.isAssignableFrom(type))) {
            throw new IllegalStateException("@Locked at " + method + " would end before its work, which goes on behind a " + type.getSimpleName()
                    + ": return what is done, a CompletionStage, a Mono or a Flux");
        }
    }

    /** Looks for variables that there are not, and for those that are added to a text. */
    private void look(SpelNode node, Method method, boolean isAdded, List<String> added) {
        if (node instanceof VariableReference) {
            String name = node.toStringAST().substring(1);
            if (!isVariable(name, method)) {
                throw new IllegalStateException("the key of @Locked at " + method + " has #" + name
                        + ", which is no parameter that is known by its name: compile with -parameters, or say #p0");
            }
            if (isAdded) {
                added.add(name);
            }
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            look(node.getChild(i), method, node instanceof OpPlus, added);
        }
    }

    private boolean isVariable(String name, Method method) {
        String[] known = names.getParameterNames(method);
        if (name.equals("root") || name.equals("this") || known != null && List.of(known).contains(name)) {
            return true;
        }
        return name.matches("[ap]\\d{1,3}") && Integer.parseInt(name.substring(1)) < method.getParameterCount();
    }

    private Duration duration(String text) {
        String value = beans.resolveEmbeddedValue(text);
        return DurationFormatterUtils.detectAndParse(value, DurationFormat.Unit.MILLIS);
    }

    private String key(Plan plan, MethodInvocation call, Method method) {
        MethodBasedEvaluationContext context = new MethodBasedEvaluationContext(call.getThis(), method, call.getArguments(), names);
        context.setBeanResolver(new BeanFactoryResolver(beans));
        for (String name : plan.added) {
            if (context.lookupVariable(name) == null) {
                throw new IllegalArgumentException("the key of @Locked at " + method + " has #" + name + ", which is null");
            }
        }
        Object key = plan.key.getValue(context);
        if (key == null) {
            throw new IllegalArgumentException("the key of @Locked at " + method + " is null");
        }
        return key.toString();
    }
}
