package io.lockserver.spring;

import java.util.function.Supplier;

import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;

import io.lockserver.client.LockClient;

/** Puts the locks of {@link Locked} methods around all other advice of a bean, so also around its transactions. */
public final class LockedPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {
    private static final long serialVersionUID = 1L;

    private final transient Supplier<LockClient> client;
    private transient LockedInterceptor interceptor;

    /** The client is asked for at the first call of such a method. */
    public LockedPostProcessor(Supplier<LockClient> client) {
        this.client = client;
        setBeforeExistingAdvisors(true);
    }

    @Override
    public void setBeanFactory(BeanFactory beans) {
        super.setBeanFactory(beans);
        interceptor = new LockedInterceptor(client, (ConfigurableBeanFactory) beans);
        advisor = new DefaultPointcutAdvisor(AnnotationMatchingPointcut.forMethodAnnotation(Locked.class), interceptor);
    }

    /** Refuses a bean with a method that the lock would not protect. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        Class<?> type = AopUtils.getTargetClass(bean);
        if (isEligible(type)) {
            MethodIntrospector.selectMethods(type, (MethodIntrospector.MetadataLookup<Locked>) method ->
                    AnnotatedElementUtils.findMergedAnnotation(method, Locked.class)).keySet().forEach(interceptor::plan);
        }
        return super.postProcessAfterInitialization(bean, name);
    }
}
