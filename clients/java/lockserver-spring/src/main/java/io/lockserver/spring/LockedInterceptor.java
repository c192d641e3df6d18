package io.lockserver.spring;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.Expression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.format.annotation.DurationFormat;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockException;
import io.lockserver.client.LockOptions;

/** Takes the lock of a {@link Locked} method around its call. */
final class LockedInterceptor implements MethodInterceptor {
    private final Supplier<LockClient> client;
    private final ConfigurableBeanFactory beans;
    private final SpelExpressionParser parser = new SpelExpressionParser();
    private final DefaultParameterNameDiscoverer names = new DefaultParameterNameDiscoverer();
    private final Map<Method, Plan> plans = new ConcurrentHashMap<>();

    private record Plan(Expression key, LockOptions options) {
    }

    LockedInterceptor(Supplier<LockClient> client, ConfigurableBeanFactory beans) {
        this.client = client;
        this.beans = beans;
    }

    @Override
    public Object invoke(MethodInvocation call) throws Throwable {
        Class<?> type = call.getThis() == null ? call.getMethod().getDeclaringClass() : AopUtils.getTargetClass(call.getThis());
        Method method = AopUtils.getMostSpecificMethod(call.getMethod(), type);
        Plan plan = plans.computeIfAbsent(method, this::plan);
        try (HeldLock lock = acquire(key(plan, call, method), plan.options)) {
            HeldLock before = CurrentLock.set(lock);
            try {
                return call.proceed();
            } finally {
                CurrentLock.set(before);
            }
        }
    }

    private HeldLock acquire(String key, LockOptions options) {
        try {
            return client.get().lock(key, options);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockException("interrupted while waiting for the lock \"" + key + "\"", e);
        }
    }

    private Plan plan(Method method) {
        Locked locked = AnnotatedElementUtils.findMergedAnnotation(method, Locked.class);
        LockOptions options = LockOptions.defaults();
        if (!locked.waitFor().isEmpty()) {
            options = options.withWait(duration(locked.waitFor()));
        }
        if (!locked.lease().isEmpty()) {
            options = options.withLease(duration(locked.lease()));
        }
        return new Plan(parser.parseExpression(locked.key()), locked.shared() ? options.asShared() : options);
    }

    private Duration duration(String text) {
        String value = beans.resolveEmbeddedValue(text);
        return DurationFormatterUtils.detectAndParse(value, DurationFormat.Unit.MILLIS);
    }

    private String key(Plan plan, MethodInvocation call, Method method) {
        MethodBasedEvaluationContext context = new MethodBasedEvaluationContext(call.getThis(), method, call.getArguments(), names);
        context.setBeanResolver(new BeanFactoryResolver(beans));
        Object key = plan.key.getValue(context);
        if (key == null) {
            throw new IllegalArgumentException("the key of @Locked at " + method + " is null");
        }
        return key.toString();
    }
}
